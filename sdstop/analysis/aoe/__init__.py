"""AoE: frames, MTUs, and how they split requests."""
