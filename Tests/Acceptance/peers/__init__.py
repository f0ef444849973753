"""Two scripted peers for the bridge: an OpenClaw gateway and a relay, both on real sockets."""
