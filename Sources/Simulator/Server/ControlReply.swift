import FoundationEssentials
import LocalServer

/// Answers of the simulator's own routes, in the relay's envelope (relay.md#response-envelope).
enum ControlReply {
    private struct Success<Result: Encodable>: Encodable {
        let ok = true
        let result: Result
    }

    private struct Failure: Encodable {
        struct Reason: Encodable {
            let code: String
            let message: String
        }

        let ok = false
        let error: Reason
    }

    static func success(_ result: some Encodable) -> LocalResponse { response(200, Success(result: result)) }

    static func failure(_ status: Int, _ code: String, _ message: String) -> LocalResponse {
        response(status, Failure(error: .init(code: code, message: message)))
    }

    private static func response(_ status: Int, _ value: some Encodable) -> LocalResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            return .text(500, "The answer could not be written as JSON.")
        }
        return LocalResponse(
            status: status, headers: [LocalHeader("Content-Type", "application/json")], body: Array(data))
    }
}
