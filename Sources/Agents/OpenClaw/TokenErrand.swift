import AgentKit
import Files
import Vocabulary

/// Tokens that gateways issued to this device, on their way into the file of
/// all tokens, which is read, changed and written whole.
///
/// One pass over the file at a time: a second one would overwrite a token that arrived meanwhile.
struct TokenErrand {
    private enum State {
        case idle
        /// The file is being read.
        case reading
        /// The file is being written with the pending tokens added.
        case writing
    }

    private static let work = WorkID(1)
    private var state = State.idle
    private var pending: [OpenClawSession.DeviceToken] = []

    mutating func keep(_ token: OpenClawSession.DeviceToken) -> [AgentOrder] {
        pending.append(token)
        guard case .idle = state else { return [] }
        return read()
    }

    private mutating func read() -> [AgentOrder] {
        state = .reading
        return [.work(Self.work, .secret(name: OpenClawDeviceFiles.tokensName))]
    }

    mutating func finished(_ result: WorkResult, wallMilliseconds: Int64) -> [AgentOrder] {
        switch (state, result) {
        case (.reading, .secret(let kept)):
            defer { pending = [] }
            do {
                let file = try pending.reduce(into: OpenClawDeviceFiles.Tokens(kept)) {
                    $0.add($1, wallMilliseconds: wallMilliseconds)
                }
                state = .writing
                return [.work(Self.work, .keepSecret(name: OpenClawDeviceFiles.tokensName, file.secret))]
            } catch {
                state = .idle
                return [.note(.remedy(error.message))]
            }
        // The pending tokens came during the write.
        case (.writing, .failed(let failure)): return [.note(.remedy(failure.message))] + next()
        case (_, .failed(let failure)):
            pending = []
            state = .idle
            return [.note(.remedy(failure.message))]
        default: return next()
        }
    }

    private mutating func next() -> [AgentOrder] {
        state = .idle
        return pending.isEmpty ? [] : read()
    }
}
