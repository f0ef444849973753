/// When to try again.
enum Retry: Hashable {
    case atOnce
    case byBackOff
    /// As the gateway said; that it starts or restarts is no failure of ours, so the back-off does not grow.
    case after(Duration)
}
