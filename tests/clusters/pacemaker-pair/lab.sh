# A pair of Pacemaker: as tests/clusters/pacemaker, with two nodes and one link.
PREFIX=sdpp NODES=2 LINKS=1 SUBNET=10.78 NAME=twin
HERE=${HERE%-pair}
. "$HERE/lab.sh"
