import BridgeModel
import Sealing

// Envelopes that were taken as messages, over restarts: a relay could send an old one again, as another message.
extension LiveConnection {
    private static let replaySetting = "replay:"

    /// A fresh one is in the journal before the message that it was taken for, or with it.
    func isReplayed(_ sealed: String, as message: MessageID, _ keys: LiveKeys) -> Bool {
        switch keys.came(sealed, as: message) {
        case .replayed: return true
        case .resent: return false
        case .fresh:
            let entry = JournalEntry.setting(
                name: Self.replaySetting + ReplayGuard.mark(of: sealed),
                value: Array("\(clock.wallMilliseconds) \(message)".utf8))
            journal.submit([entry], .written, done: nil)
            return false
        }
    }

    /// As long as the messages themselves are known (DESIGN.md#a-runs-journey).
    func restoreReplays(_ settings: [String: [UInt8]]) {
        guard let keys else { return }
        let oldest = clock.wallMilliseconds - Self.memory
        var taken: [(wall: Int64, mark: String, message: MessageID)] = []
        var useless: [JournalEntry] = []
        for (name, value) in settings where name.hasPrefix(Self.replaySetting) {
            let words = String(decoding: value, as: UTF8.self).split(separator: " ", maxSplits: 1)
            if words.count == 2, let wall = Int64(words[0]), wall > oldest {
                taken.append((wall, String(name.dropFirst(Self.replaySetting.count)), MessageID(String(words[1]))))
            } else {
                useless.append(.setting(name: name, value: nil))
            }
        }
        keys.restore(taken.sorted { $0.wall < $1.wall }.map { ($0.mark, $0.message) })
        if !useless.isEmpty { journal.submit(useless, .written, done: nil) }
    }
}
