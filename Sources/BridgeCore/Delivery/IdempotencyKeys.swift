package import BridgeModel

/// The keys of one turn's calls, derived from durable facts so that a restarted bridge makes the same ones (DESIGN, section 8).
package struct IdempotencyKeys: Sendable, Hashable {
    private let stem: String

    /// A turn's id is somebody else's text: outside the relay's alphabet, or so long that no key would fit, it is hashed.
    package init(turn: TurnID) {
        let fits = !turn.text.isEmpty && turn.text.utf8.count <= 32 && turn.text.utf8.allSatisfy(Self.isAllowed)
        stem = fits ? turn.text : "h\(StableHash.text(of: turn.text))"
    }

    package func open(form: Int) -> IdempotencyKey { key("open", form) }
    package func end(form: Int) -> IdempotencyKey { key("end", form) }
    package func delta(epoch: Int, number: Int) -> IdempotencyKey { IdempotencyKey("\(stem)-d\(epoch)-\(number)") }
    package func taskStart(_ task: TaskID) -> IdempotencyKey { IdempotencyKey("\(stem)-t-\(short(task.text))-start") }
    package func taskEnd(_ task: TaskID) -> IdempotencyKey { IdempotencyKey("\(stem)-t-\(short(task.text))-end") }
    package func taskUpdate(_ task: TaskID, epoch: Int, number: Int) -> IdempotencyKey {
        // The epoch keeps updates, which are not stored, apart from those of an earlier process.
        IdempotencyKey("\(stem)-t-\(short(task.text))-u\(epoch)x\(number)")
    }
    package func approval(_ approval: ApprovalID) -> IdempotencyKey {
        IdempotencyKey("\(stem)-a-\(short(approval.text))")
    }

    package func message(_ part: WholeMessage.Part) -> IdempotencyKey {
        switch part {
        case .more(let number): IdempotencyKey("\(stem)-more-\(number)")
        case .late: IdempotencyKey("\(stem)-late")
        case .line(let number): IdempotencyKey("\(stem)-line-\(number)")
        }
    }

    private func key(_ name: String, _ form: Int) -> IdempotencyKey {
        IdempotencyKey(form == 1 ? "\(stem)-\(name)" : "\(stem)-\(name)-\(form)")
    }

    /// 16 of 62 letters: 95 bits, so that the longest key stays under 64 characters.
    private func short(_ name: String) -> String { String(StableHash.text(of: name).prefix(16)) }

    package static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
