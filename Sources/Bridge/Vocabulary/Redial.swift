/// When a lost link dials again.
package enum Redial: Hashable, Sendable {
    case atOnce
    case byBackOff
    /// Only a person can mend it: by a back-off that grows longer.
    case byLongBackOff
    /// As the far side said; that it starts or restarts is no failure of ours, so the back-off does not grow.
    case after(Duration)
    /// Not before the far side asked for, and not before our own back-off.
    case notBefore(Duration)
}
