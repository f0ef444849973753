import JSONReading
import Vocabulary

/// What a chat must know after a restart: its thread, and the folder of it, which never changes.
struct CodexPlace: Hashable {
    var thread: String
    var folder: String
    /// Some message is in it. Records of earlier versions do not say.
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
