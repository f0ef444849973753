package import Vocabulary

/// The keys of one turn's relay calls: 1 to 64 characters of `[A-Za-z0-9_-]` (relay.md#rules).
///
/// A key is made of durable facts alone, so that a restarted bridge sends the same post under the same key. It begins with the turn's
/// id, or with a hash of it if the id holds other characters or would make the key too long.
package struct IdempotencyKeys: Hashable, Sendable {
    package static let longest = 64

    private let turn: String
    private let hashed: String
    private let usesHash: Bool

    package init(turn: TurnID) {
        self.turn = turn.text
        hashed = StableHash.text(of: turn.text)
        usesHash = turn.text.isEmpty || !turn.text.utf8.allSatisfy(Self.isAllowed)
    }

    /// `form` counts the bodies that were tried in this place: another body needs another key.
    package func open(form: Int = 1) -> IdempotencyKey { key("-open", form) }

    package func end(form: Int = 1) -> IdempotencyKey { key("-end", form) }

    /// `number` counts from 1 in each epoch; an epoch is one life of the lane's process.
    package func delta(epoch: Int, number: Int) -> IdempotencyKey {
        return key("-d\(epoch)-\(number)")
    }

    package func taskStart(_ task: TaskID) -> IdempotencyKey { key("-t-" + Self.short(task.text) + "-start") }

    package func taskEnd(_ task: TaskID) -> IdempotencyKey { key("-t-" + Self.short(task.text) + "-end") }

    /// Updates are not stored, so the epoch keeps those of an earlier life apart.
    package func taskUpdate(_ task: TaskID, epoch: Int, number: Int) -> IdempotencyKey {
        key("-t-\(Self.short(task.text))-u\(epoch)x\(number)")
    }

    package func approval(_ approval: ApprovalID, form: Int = 1) -> IdempotencyKey {
        key("-a-\(Self.short(approval.text))", form)
    }

    package func message(_ part: WholeMessage.Part, form: Int = 1) -> IdempotencyKey {
        switch part {
        case .more(let number): key("-more-\(number)", form)
        case .late: key("-late", form)
        case .line(let number): key("-line-\(number)", form)
        }
    }

    private func key(_ suffix: String, _ form: Int) -> IdempotencyKey {
        key(form > 1 ? "\(suffix)-\(form)" : suffix)
    }

    private func key(_ suffix: String) -> IdempotencyKey {
        let tooLong = turn.utf8.count + suffix.utf8.count > Self.longest
        let key = (usesHash || tooLong ? hashed : turn) + suffix
        assert(key.utf8.count <= Self.longest)
        return IdempotencyKey(key)
    }

    /// A hash long enough to keep the tasks and approvals of one turn apart.
    private static func short(_ name: String) -> String { StableHash.text(of: name, length: 16) }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
