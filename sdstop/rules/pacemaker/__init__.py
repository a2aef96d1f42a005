"""Rules about Pacemaker and Corosync."""
