/// What becomes of the phone's wish to see a file.
package enum FileView: Hashable, Sendable {
    case answered(RawResponse)
    /// The bridge was asked; `fileAnswer` tells when it has answered.
    case asked(String)
}

// `GET /v1/me/sessions/:id/file`, which the relay passes on as `file.read.req` (relay sheet 9.1, 5). How the app gets the
// file is not documented: here it is the bridge's answer in the envelope, and 504 when there is none in time.
extension Relay {
    /// Nil: the address is another one.
    package mutating func viewFile(_ request: RawRequest, at now: Moment) -> FileView? {
        let target = RequestTarget(request.target)
        guard request.method == "GET", target.segments.count == 5,
            target.segments.starts(with: ["v1", "me", "sessions"]),
            target.segments[4] == "file"
        else { return nil }
        tick(at: now)
        let session = target.segments[3]
        do throws(Refusal) {
            guard authorisesPhone(request.headers) else {
                throw Refusal(status: 401, code: "invalid_token", message: "This is not the user's token.")
            }
            try checkSession(session)
            let fields = try fileFields(session, target)
            guard let id = ask(type: "file.read.req", fields: fields) else {
                throw Refusal(status: 503, code: "temporarily_unavailable", message: "No bridge is connected.")
            }
            return .asked(id)
        } catch {
            return .answered(Self.response(error))
        }
    }

    /// Nil while the bridge has not answered.
    package func fileAnswer(_ id: String) -> RawResponse? {
        switch remoteRequest(id)?.outcome {
        case .waiting: return nil
        case .answered(let frame):
            guard let reply = try? JSONParser.parse(frame) else { return Self.noAnswer }
            return Self.response(to: reply)
        case .lost, .forgotten, nil: return Self.noAnswer
        }
    }

    package static var noAnswer: RawResponse {
        response(Refusal(status: 504, code: "upstream_error", message: "The bridge has not answered."))
    }

    private func fileFields(_ session: String, _ target: RequestTarget) throws(Refusal) -> JSONValue {
        if let index = target.parameter("blind_idx") {
            guard let file = announcedFiles.first(where: { $0.session == session && $0.blindIndex == index }) else {
                throw Refusal(status: 403, code: "permission_denied", message: "The bridge announced no such file.")
            }
            return .object([
                JSONValue.Member(name: "session_id", value: .string(session)),
                JSONValue.Member(name: "blind_idx", value: .string(index)),
                JSONValue.Member(name: "path_ct", value: .string(file.path)),
            ])
        }
        guard let path = target.parameter("path"), !path.isEmpty else {
            throw Refusal(status: 400, code: "invalid_request", message: "Name the file by path or blind_idx.")
        }
        return .object([
            JSONValue.Member(name: "path", value: .string(path)),
            JSONValue.Member(name: "server_vouched_path", value: .string(path)),
        ])
    }

    private static func response(to reply: JSONValue) -> RawResponse {
        if let error = reply["error"] {
            let code = error["code"]?.string ?? "unknown"
            let status = ["forbidden": 403, "permission_denied": 403, "not_found": 404, "too_large": 413][code] ?? 502
            return response(Refusal(status: status, code: code, message: "The bridge refused the file."))
        }
        let result = JSONWriter.object { result in
            guard case .object(let members) = reply else { return }
            for member in members where member.name != "type" && member.name != "req_id" {
                result.field(member.name, json: member.value.text)
            }
        }
        return RawResponse(
            status: 200, headers: [RawHeader("Content-Type", "application/json")],
            body: Array(#"{"ok":true,"result":"#.utf8) + result + Array("}".utf8))
    }

    private static func response(_ refusal: Refusal) -> RawResponse {
        RawResponse(
            status: refusal.status, headers: [RawHeader("Content-Type", "application/json")], body: refusal.body)
    }
}
