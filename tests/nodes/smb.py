"""DebugData of the kernel's SMB client, as Linux 6.1 prints it."""

NEWER = r"""Display Internal CIFS Data Structures for Debugging
---------------------------------------------------
CIFS Version 2.40
Features: DFS,FSCACHE,STATS2
CIFSMaxBufSize: 16384
Active VFS Requests: 1

Servers: 
1) ConnectionId: 0x1 Hostname: filer 
Number of credits: 389 Dialect 0x311
TCP status: {status} Instance: {instance}
Local Users To Server: 1 SecMode: 0x1 Req On Wire: 2
In Send: 0 In MaxReq Wait: 3

	Sessions: 
	1) Address: 192.0.2.7 Uses: 1 Capability: 0x300047	Session Status: 1 
	Security type: RawNTLMSSP  SessionId: 0x5f4
	User: 1042 Cred User: 0

	Extra Channels: 1 

		Channel: 2 ConnectionId: 0x2
		Number of credits: 10 Dialect 0x311
		TCP status: 3 Instance: 99
		Local Users To Server: 1 SecMode: 0x1 Req On Wire: 77
		In Send: 0 In MaxReq Wait: 9	DISCONNECTED 

	Shares: 
	0) IPC: \\filer\IPC$ Mounts: 1 DevInfo: 0x0 Attributes: 0x0
	PathComponentMax: 0 Status: 1 type: 0 Serial Number: 0x0	DISCONNECTED 

	1) \\filer\team files Mounts: 1 Type: NTFS DevInfo: 0x20 Attributes: 0x1006f
	PathComponentMax: 255 Status: 1 type: DISK Serial Number: 0xdeadbeef
	Share Capabilities: None	Share Flags: 0x0	DISCONNECTED 

	2) \\filer\scans Mounts: 2 DevInfo: 0x20 Attributes: 0x1006f
	PathComponentMax: 255 Status: 1 type: DISK Serial Number: 0x0

	Server interfaces: 1	Last updated: 12 seconds ago
	1)	Speed: 1000000000 bps
		IPv4: 192.0.2.7

	MIDs: 
	Server ConnectionId: 0x1
		State: 2 com: 8 pid: 4242 cbdata: 00000000 mid 99
--

"""  # noqa: W291  # as the kernel prints it
