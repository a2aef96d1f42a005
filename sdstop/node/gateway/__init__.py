"""Gateway: read-only client of the cluster's REST gateway for the live node.

    allowed     allow-list of methods and paths; nothing else is ever sent
    settings    the section [powerflex] of the config file
    secret      the password: its sources, and how it is kept out of all output
    exchange    one request over one connection, by sdstop.node.http
    session     login: the token of ScaleIO 1.x to 3.x, the bearer token of PowerFlex 4.x
    negotiated  the statistics that a gateway version supports
    client      several gateways as one: failover, back-off, and reuse of the last response

Only sdstop.node.live uses the client, in the sampler's process.
"""
