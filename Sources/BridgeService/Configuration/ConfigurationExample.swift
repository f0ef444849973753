/// `bridge.example.json`, for those who have the binary alone. A test compares the two.
package enum ConfigurationExample {
    package static let text = #"""
        {
          "//": "Every key with the value that holds when it is left out; null means: not set. Keys that begin with // are comments.",
          "// values": "A text may be \"${NAME}\", from the environment, or \"@/path\", from a file. Durations are \"500ms\", \"10s\", \"2m\", \"1h\".",
          "// order": "A flag goes over the environment, the environment over this file. sophon-bridge config show says what holds, and why.",
          "connections": [
            {
              "//": "An installation token and an agent. Several connections: a name and a token of its own for each.",
              "name": "default",
              "relay": {
                "// base_url": "https://, or http:// to this machine and private networks. SOPHON_BASE_URL",
                "base_url": "https://api.sophon.at",
                "// token": "The one from pairing when it is null. SOPHON_BOT_TOKEN or SOPHON_TOKEN",
                "token": null,
                "// ca_file": "Certificates of a private authority, PEM; null means: the system's.",
                "ca_file": null,
                "http2": false
              },
              "agent": {
                "// kind": "openclaw, oppi or pi; this version runs OpenClaw alone. SOPHON_AGENT",
                "kind": "openclaw",
                "// url": "openclaw: ws:// or wss://; oppi: http:// or https://, http://127.0.0.1:7749 when null. OPENCLAW_URL, OPPI_URL",
                "url": "ws://127.0.0.1:18789",
                "// token": "openclaw and oppi. OPENCLAW_TOKEN, OPPI_TOKEN",
                "token": null,
                "// ca_file": "openclaw and oppi.",
                "ca_file": null,
                "// state_dir": "openclaw alone: its own files, ~/.openclaw when null. OPENCLAW_STATE_DIR",
                "state_dir": null,
                "// workspace": "oppi alone. OPPI_WORKSPACE",
                "workspace": null,
                "// command": "pi alone: program and arguments, [\"pi\", \"--mode\", \"rpc\"] when null. PI_COMMAND",
                "command": null
              },
              "// when_busy": "A message that comes during a run: wait for its end, or steer the run where the agent can.",
              "when_busy": "wait",
              "// mirror": "Runs that no phone message began: show all, those of cron, or none.",
              "mirror": "cron",
              "// deleted_job_chats": "The chat of such runs was deleted or archived: new makes another for the next run, mute shows none of its session any more.",
              "deleted_job_chats": "new"
            }
          ],
          "// state_dir": "$XDG_STATE_HOME/sophon or ~/.local/state/sophon when null. SOPHON_STATE_DIR, --state-dir",
          "state_dir": null,
          "// record_dir": "Where frames and updates are recorded, without secrets; null means: nowhere. --record",
          "record_dir": null,
          "// host_label": "What this machine is called when it is paired; null means: its host name. SOPHON_HOST_LABEL",
          "host_label": null,
          "log": {
            "// level": "error, warning, info or debug. --log-level",
            "level": "info",
            "// format": "text or json.",
            "format": "text"
          },
          "// on_stop": "Runs that go on when the bridge stops: resume them at the next start, or close their bubbles with a line.",
          "on_stop": "resume",
          "// allow_plain": "Hosts beyond private networks that may be spoken to without encryption.",
          "allow_plain": [],
          "limits": {
            "// relay_connections": "16 to 256; 8 of them are kept for the opens and ends of bubbles.",
            "relay_connections": 64,
            "// relay_call": "1s to 60s, for one whole call.",
            "relay_call": "10s",
            "// stop_flush": "0s to 60s: how long a stop waits for calls that are under way.",
            "stop_flush": "5s",
            "// memory_mb": "4 to 4096: what may wait in memory; at it nothing is read from agents until it is less.",
            "memory_mb": 64
          }
        }

        """#
}
