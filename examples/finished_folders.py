"""Reads the finished folders of a topic by their manifests (``finish.yaml``): each once, and again when it has changed.

``python -m examples.finished_folders --bucket logs --topic raw/clicks --state seen.json`` prints a line for each folder
whose number is new, with its objects; keys and region are found as boto3 finds them.
"""

import argparse
import json
import sys
from pathlib import Path

import boto3


def main() -> int:
    """Print what is new, and remember its numbers."""
    parser = argparse.ArgumentParser(description="Print the finished folders that are new or have changed.")
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--topic", required=True, help="prefix and topic, for example raw/clicks")
    parser.add_argument("--state", type=Path, required=True, help="file that remembers the numbers of folders")
    parser.add_argument("--endpoint", help="S3 server; default: AWS")
    arguments = parser.parse_args()

    s3 = boto3.client("s3", endpoint_url=arguments.endpoint)
    seen: dict[str, int] = json.loads(arguments.state.read_text()) if arguments.state.exists() else {}
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=arguments.bucket, Prefix=f"{arguments.topic}/")
    keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
    for key in keys:
        folder, _, name = key.rpartition("/")
        if name != "_manifest.json":
            continue
        manifest = json.loads(s3.get_object(Bucket=arguments.bucket, Key=key)["Body"].read())
        if manifest["number"] > seen.get(folder, 0):
            print(f"{folder} number {manifest['number']}: {manifest['records']} records in")
            for one in manifest["objects"]:
                print(f"  s3://{arguments.bucket}/{folder}/{one['name']}")
            seen[folder] = manifest["number"]  # where the rows of this folder replace those read before
    arguments.state.write_text(json.dumps(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
