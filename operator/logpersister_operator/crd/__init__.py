"""The CustomResourceDefinition, made from the manifest's model and the status's; see `document`."""
