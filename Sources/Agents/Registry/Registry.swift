package import AgentKit
import Claude
import Codex
import OpenClaw
import Oppi
import Pi

extension AgentRegistry {
    /// Every agent that the bridge speaks to; the first is the default.
    package static let all = AgentRegistry([
        OpenClawPlugin(),
        OppiPlugin(),
        PiPlugin(),
        CodexPlugin(),
        ClaudePlugin(),
    ])
}
