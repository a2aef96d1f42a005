"""Rules about space that runs out: thin pools, snapshots, pools of clusters."""
