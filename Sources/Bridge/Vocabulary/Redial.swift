/// Time of a lost link's next dial.
package enum Redial: Hashable, Sendable {
    case atOnce
    case byBackOff
    /// A person has to repair the cause: the back-off grows longer.
    case byLongBackOff
    /// The far side named the delay. Its start or restart is no failure of ours: the back-off does not grow.
    case after(Duration)
    /// Not before the far side's delay, and not before our own back-off.
    case notBefore(Duration)
}
