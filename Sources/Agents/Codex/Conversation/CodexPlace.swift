import JSONReading
import Vocabulary

/// Thread of a chat and its folder, which never changes: the facts that a chat needs after a restart.
struct CodexPlace: Hashable {
    var thread: String
    var folder: String
    /// The thread has a message. Records of earlier versions lack this flag.
    var hasTurns: Bool

    init(thread: String, folder: String, hasTurns: Bool) {
        self.thread = thread
        self.folder = folder
        self.hasTurns = hasTurns
    }

    init?(_ fact: [UInt8], _ parser: FrameParser) {
        let place = fact.withUnsafeBytes { bytes -> Self? in
            guard let root = parser.parse(bytes, capacity: bytes.count), let thread = root["thread"]?.string,
                let folder = root["folder"]?.string
            else { return nil }
            return Self(thread: thread, folder: folder, hasTurns: root["turns"]?.flag != false)
        }
        guard let place else { return nil }
        self = place
    }

    var fact: [UInt8] {
        var fact = JSONObjectWriter()
        fact.string("thread", thread)
        fact.string("folder", folder)
        if !hasTurns { fact.raw("turns", Array("false".utf8)) }
        return fact.finish()
    }
}
