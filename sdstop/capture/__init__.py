"""Capture: frames of raw evidence in a folder or a tar archive.

    manifest.json         {"schema": "sdstop.capture/1", "host", "frames": [{"taken", "monotonic"}, ...]} and more
                          (sdstop.capture.frames); manifest-final.json replaces it in a finished archive
    index.jsonl, index/   a line for each piece of evidence (sdstop.capture.frames)
    frames.jsonl          a line for each frame that is whole
    static/               laid out as a frame; belongs to the first
    frames/0001/          evidence that changed since the frame before (sdstop.capture.layout)

Manifest, index and frames.jsonl may be missing, and files that they do not list count, too: a capture may be made, or
cut down, by hand. To open one, begin at sdstop.capture.reader; to write one, at sdstop.exporters.capture, which lays
frames out (layout) and puts them into a folder or an archive (sink).
"""
