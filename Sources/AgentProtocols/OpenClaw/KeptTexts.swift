import BridgeModel
import Glibc

/// The last text of each run, as bytes, so that a cumulative text which only grew costs one comparison and the Swift string
/// of what was added.
struct KeptTexts {
    /// Runs beyond this lose their text, and their next frame is taken as a snapshot.
    private static let limit = 256
    private var texts: [RunID: [UInt8]] = [:]

    /// How the run's text moved with this cumulative text; nil: not at all.
    mutating func moved(_ run: RunID, to text: UnsafeRawBufferPointer) -> TextChange? {
        if texts.count >= Self.limit, texts[run] == nil { texts.removeAll() }
        guard let known = texts[run] else {
            texts[run] = Array(text)
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
            texts[run] = Array(text)
            return .snapshot(String(decoding: text, as: UTF8.self))
        }
        guard text.count > count else { return nil }
        let addition = UnsafeRawBufferPointer(rebasing: text[count...])
        texts[run]?.append(contentsOf: addition)
        return .append(String(decoding: addition, as: UTF8.self))
    }

    mutating func appended(_ run: RunID, _ addition: UnsafeRawBufferPointer) -> TextChange? {
        guard addition.count > 0 else { return nil }
        texts[run, default: []].append(contentsOf: addition)
        return .append(String(decoding: addition, as: UTF8.self))
    }

    mutating func forget(_ run: RunID) { texts[run] = nil }
    mutating func forgetAll() { texts.removeAll() }
}
