import FoundationEssentials
import RelayRules

/// The body of `POST /v1/simulator/faults`: what shall go wrong with the next calls.
struct FaultOrder: Decodable {
    struct Refusal: Error, Hashable { let message: String }

    let kind: String
    var count: Int?
    var method: String?
    var milliseconds: Int?
    var retryAfterMilliseconds: Int?
    var code: String?

    enum CodingKeys: String, CodingKey {
        case kind, count, method, milliseconds, code
        case retryAfterMilliseconds = "retry_after_ms"
    }

    static let kinds = [
        "429", "500", "502", "503", "401", "410", "reset", "slow", "reply_lost", "html", "truncated", "huge",
        "retry_after_soon", "redirect",
    ]

    static func fault(from body: [UInt8]) throws(Refusal) -> Fault {
        guard let order = try? JSONDecoder().decode(FaultOrder.self, from: Data(body)) else {
            throw Refusal(
                message:
                    "The body must be a JSON object such as {\"kind\":\"429\",\"count\":2,\"retry_after_ms\":500}; "
                    + "kind is one of \(kinds.joined(separator: ", ")).")
        }
        return try order.fault()
    }

    private func fault() throws(Refusal) -> Fault {
        let count = try within(1...100_000, count ?? 1, "count")
        return Fault(try faultKind(), method: method, count: count)
    }

    private func faultKind() throws(Refusal) -> Fault.Kind {
        let wait = try retryAfterMilliseconds.map { wait throws(Refusal) in
            try within(0...3_600_000, wait, "retry_after_ms")
        }
        switch kind {
        case "429": return .rateLimited(retryAfterMilliseconds: wait.map(Int64.init) ?? 1_000, namesBucket: true)
        case "500": return .status(500, retryAfterMilliseconds: wait.map(Int64.init))
        case "502": return .status(502, retryAfterMilliseconds: wait.map(Int64.init))
        case "503": return .status(503, retryAfterMilliseconds: wait.map(Int64.init))
        case "401": return .unauthorized
        case "410": return .refused(status: 410, code: code ?? "interaction_expired")
        case "reset": return .reset
        case "slow": return .slow(milliseconds: try within(1...600_000, milliseconds ?? 1_000, "milliseconds"))
        case "reply_lost": return .replyLost
        case "html": return .html
        case "truncated": return .truncated
        case "huge": return .huge
        case "retry_after_soon": return .oddRetryAfter("soon")
        case "redirect": return .redirect
        default:
            throw Refusal(message: "kind is \"\(kind)\", expected one of \(Self.kinds.joined(separator: ", ")).")
        }
    }

    private func within(_ range: ClosedRange<Int>, _ value: Int, _ name: String) throws(Refusal) -> Int {
        guard range.contains(value) else {
            throw Refusal(message: "\(name) is \(value), expected \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }
}
