"""What single fields of the manifest may be, and how it is said what is wrong with them."""
