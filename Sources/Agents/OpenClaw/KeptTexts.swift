import Glibc
import Vocabulary

/// The last text of each run, as bytes. A cumulative text that only grew
/// costs one comparison and one Swift string of the addition.
struct KeptTexts {
    /// Runs with a kept text. Beyond this all texts are dropped, and the next frame of each run counts as a snapshot.
    private static let limit = 256
    /// Bytes of all kept texts, with the same consequence.
    private static let byteLimit = 16 << 20
    private var texts: [RunID: [UInt8]] = [:]
    private var bytes = 0

    /// The change from the run's last text to this cumulative one, or nil if they are equal.
    mutating func moved(_ run: RunID, to text: UnsafeRawBufferPointer) -> TextChange? {
        makeRoom(for: run)
        guard let known = texts[run] else {
            keep(text, of: run)
            return .snapshot(String(decoding: text, as: UTF8.self))
        }
        let count = known.count
        let extends =
            text.count >= count
            && known.withUnsafeBytes { bytes in
                guard count > 0, let left = bytes.baseAddress, let right = text.baseAddress else { return true }
                return memcmp(left, right, count) == 0
            }
        guard extends else {
            keep(text, of: run)
            return .snapshot(String(decoding: text, as: UTF8.self))
        }
        guard text.count > count else { return nil }
        let addition = UnsafeRawBufferPointer(rebasing: text[count...])
        grow(run, by: addition)
        return .append(String(decoding: addition, as: UTF8.self))
    }

    mutating func appended(_ run: RunID, _ addition: UnsafeRawBufferPointer) -> TextChange? {
        guard addition.count > 0 else { return nil }
        makeRoom(for: run)
        grow(run, by: addition)
        return .append(String(decoding: addition, as: UTF8.self))
    }

    mutating func forget(_ run: RunID) { bytes -= texts.removeValue(forKey: run)?.count ?? 0 }

    mutating func forgetAll() {
        texts.removeAll()
        bytes = 0
    }

    private mutating func makeRoom(for run: RunID) {
        if texts.count >= Self.limit, texts[run] == nil { forgetAll() }
    }

    private mutating func keep(_ text: UnsafeRawBufferPointer, of run: RunID) {
        forget(run)
        guard text.count <= Self.byteLimit else { return }
        if bytes + text.count > Self.byteLimit { forgetAll() }
        texts[run] = Array(text)
        bytes += text.count
    }

    /// A text over the limit is dropped: the next event is a snapshot, or the history supplies the text.
    private mutating func grow(_ run: RunID, by addition: UnsafeRawBufferPointer) {
        guard bytes + addition.count <= Self.byteLimit else { return forgetAll() }
        texts[run, default: []].append(contentsOf: addition)
        bytes += addition.count
    }
}
