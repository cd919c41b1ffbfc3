"""``spec.upload``: when records become an object."""

from datetime import timedelta
from typing import Annotated

from logpersister.forms.constraint import Duration, Model, Size

MaxBytes = Annotated[int, Size("64Ki", "5Ti")]
MaxAge = Annotated[timedelta, Duration("1s", "30d")]


class UploadSpec(Model):
    """When records become an object: as soon as one of the limits is reached."""

    max_bytes: MaxBytes = 256 * 2**20
    """Approximate size of an object after compression."""

    max_age: MaxAge = timedelta(minutes=15)
    """How long records wait at most, since a member first saw them, until an object is written."""
