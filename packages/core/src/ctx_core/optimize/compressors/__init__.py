"""One compressor per kind of content."""
