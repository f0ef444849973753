import JSONReading
import Vocabulary

/// What a chat must know after a restart: its thread, and the folder of it, which never changes.
struct CodexPlace: Hashable {
    var thread: String
    var folder: String

    init(thread: String, folder: String) {
        self.thread = thread
        self.folder = folder
    }

    init?(_ fact: [UInt8], _ parser: FrameParser) {
        let place = fact.withUnsafeBytes { bytes -> Self? in
            guard let root = parser.parse(bytes, capacity: bytes.count), let thread = root["thread"]?.string,
                let folder = root["folder"]?.string
            else { return nil }
            return Self(thread: thread, folder: folder)
        }
        guard let place else { return nil }
        self = place
    }

    var fact: [UInt8] {
        var fact = JSONObjectWriter()
        fact.string("thread", thread)
        fact.string("folder", folder)
        return fact.finish()
    }
}
