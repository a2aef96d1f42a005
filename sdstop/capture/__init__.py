"""Capture: frames of raw evidence in a directory or a tar archive.

    manifest.json         {"schema": "sdstop.capture/1", "host", "frames": [{"taken", "monotonic"}, ...]} and more
                          (sdstop.capture.manifest); manifest-final.json replaces it in a finished archive
    index.jsonl, index/   a line for each piece of evidence (sdstop.capture.manifest)
    frames.jsonl          a line for each complete frame
    static/               evidence of the first frame, in the layout of a frame
    frames/0001/          evidence that changed since the previous frame (sdstop.capture.layout)

Manifest, index and frames.jsonl are optional, and unlisted files are read, too: a capture may be created or trimmed by
hand. Captures are opened by sdstop.capture.reader, and written by sdstop.exporters.capture, which lays out frames
(layout) and writes them to a directory or an archive (sink).
"""
