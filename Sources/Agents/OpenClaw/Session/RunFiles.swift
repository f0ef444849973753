import AgentKit
import Vocabulary

/// The files of a message on its way to the gateway.
struct RunFiles: Hashable, Sendable {
    /// Those that go along. Once chosen they stay the same: the text under a key names the others (openclaw.md#disconnects).
    var files: [MessageFile] = []
    /// Those that the bridge itself does not have, and those that the gateway did not take.
    var missing: [MissingFile] = []
    var areChosen = false
    /// The message has no words.
    var areAlone = false
    /// They were another process's, or cannot be read any more: what was sent cannot be sent again.
    var areGone = false
}
