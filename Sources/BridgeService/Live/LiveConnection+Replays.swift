import BridgeModel

// Marks of envelopes that were taken as messages: the journal has them, so that no relay can send an old one again as another message.
extension LiveConnection {
    /// They go with the messages themselves (DESIGN.md#a-runs-journey).
    func forgetOldMarks(_ settings: [String: [UInt8]]) {
        let oldest = clock.wallMilliseconds - Self.memory
        let useless = settings.filter { name, value in
            guard name.hasPrefix(AcceptedMessage.markPrefix) else { return false }
            let wall = String(decoding: value, as: UTF8.self).split(separator: " ").first.flatMap { Int64($0) }
            return wall.map { $0 <= oldest } ?? true
        }
        let entries = useless.keys.sorted().map { JournalEntry.setting(name: $0, value: nil) }
        if !entries.isEmpty { journal.submit(entries, .written, done: nil) }
    }
}
