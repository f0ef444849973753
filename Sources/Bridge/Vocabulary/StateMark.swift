/// The mark of one state directory. Its placeholders carry it as white space that no person sees, so that the relay, which compares
/// the bodies of one key (relay.md#rules), tells the placeholders of two bridges apart.
package struct StateMark: Hashable, Sendable {
    package var bits: UInt32
    /// The first use of the state directory. Whose an older message is, the mark does not say.
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

    /// True for a message that the relay made while this state directory was in use.
    package func covers(_ made: RelayMoment?) -> Bool {
        guard let made else { return false }
        return made.instant >= since
    }
}
