"""The manifest: a pydantic model of the LogPersister resource, how it is read, what its revision is."""

from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.feed_collector import FeedCollector
from logpersister.manifest.load import load, load_collector, load_either, parse, parse_text
from logpersister.manifest.resource import LogPersister
from logpersister.manifest.spec import Spec

__all__ = [
    "FeedCollector",
    "LogPersister",
    "ManifestError",
    "Problem",
    "Spec",
    "load",
    "load_collector",
    "load_either",
    "parse",
    "parse_text",
]
