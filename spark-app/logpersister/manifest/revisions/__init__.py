"""What identifies a running application: the revision, and what tables add to it."""
