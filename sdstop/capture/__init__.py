"""Capture: frames of raw evidence in a folder or a tar archive, whoever made it.

    manifest.json         {"schema": "sdstop.capture/1", "host", "frames": [{"taken", "monotonic"}, ...]}; may be
                          missing, and a recorder's says more (sdstop.capture.manifest); manifest-final.json
                          replaces it in an archive that was finished
    index.jsonl, index/   a line for each piece of evidence; may be missing (sdstop.capture.index)
    frames.jsonl          a line for each frame that is whole; may be missing
    static/               as one frame; belongs to the first
    frames/0001/          what changed since the frame before (sdstop.capture.layout)

What is there counts, also where manifest and index do not know it: a capture may be made, or cut down, by hand.
"""
