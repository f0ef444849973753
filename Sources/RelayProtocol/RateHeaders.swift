package import BridgeModel

/// The rate headers of a response (relay sheet 11.2).
package enum RateHeaders {
    package static func reading(of response: HTTPResponse) -> RateReading? {
        let bucket = response.header("X-RateLimit-Bucket")
        let remaining = response.header("X-RateLimit-Remaining").flatMap(Self.count)
        let limit = response.header("X-RateLimit-Limit").flatMap(Self.count)
        guard bucket != nil || remaining != nil || limit != nil else { return nil }
        return RateReading(
            bucket: bucket.flatMap { RelayBucket(rawValue: $0) }, limit: limit, remaining: remaining,
            resetAfter: response.header("X-RateLimit-Reset-After").flatMap(Self.seconds))
    }

    private static func count(_ text: String) -> Int? {
        guard let value = Int(text), value >= 0, value < 1_000_000_000 else { return nil }
        return value
    }

    private static func seconds(_ text: String) -> Duration? {
        guard let value = Double(text), value.isFinite, value >= 0, value < 1e9 else { return nil }
        return .nanoseconds(Int64(value * 1e9))
    }
}
