"""Rules about HBAs, PCI Express, SAS and Fibre Channel."""
