/// Mark of one state directory. Its placeholders carry the mark as white space that no person sees: the relay compares
/// the bodies of one key (relay.md#rules), and so distinguishes the placeholders of two bridges.
package struct StateMark: Hashable, Sendable {
    package var bits: UInt32
    /// First use of the state directory. The mark does not tell who owns an older message.
    package var since: Instant

    package init(bits: UInt32, since: Instant) {
        self.bits = bits
        self.since = since
    }

    /// A space, then one space or tab for each bit. Apps that trim a placeholder see the documented one.
    package static func text(_ bits: UInt32) -> String {
        var text = " "
        for place in 0..<UInt32.bitWidth { text += bits >> UInt32(place) & 1 == 0 ? " " : "\t" }
        return text
    }

    /// Whether the relay made the message while this state directory was in use.
    package func covers(_ made: RelayMoment?) -> Bool {
        guard let made else { return false }
        return made.instant >= since
    }
}
