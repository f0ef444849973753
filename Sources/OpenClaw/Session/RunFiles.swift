import AgentKit
import BridgeModel

/// The files of a message on its way to the gateway.
struct RunFiles: Hashable, Sendable {
    var files: [MessageFile] = []
    /// Those that the bridge itself does not have.
    var missing: [MissingFile] = []
    /// They were another process's: what it sent cannot be sent again.
    var areGone = false
}
