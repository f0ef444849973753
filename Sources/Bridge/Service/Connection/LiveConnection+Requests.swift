import AgentKit
import BridgeCore
import Links
import RelayProtocol
import Vocabulary

// Requests of the relay for the phone. The agent's machine answers those about models and schedules, with its own refusal if it cannot;
// the viewer answers those about files that tools have touched.
extension LiveConnection {
    func answer(_ request: RelayRequest) {
        switch request.question {
        case .models: ask(.models, for: request)
        case .schedule(let verb, let parameters):
            let query = AgentQuery.schedule(verb: verb, parameters: parameters)
            switch keys?.verdict(onRoutine: verb) {
            case .asked, nil: ask(query, for: request)
            case .askedWithoutWords:
                let bare = AgentQuery.schedule(verb: verb, parameters: RoutineCover.bare(parameters, for: verb))
                ask(bare, for: request, shown: RoutineCover.covered)
            case .refused(let message): reply(.failed(code: request.failure, message: message), to: request)
            }
        case .file(let file): show(file, for: request)
        }
    }

    private func show(_ file: FileQuestion, for request: RelayRequest) {
        guard let viewer = files?.viewer else {
            return reply(.failed(code: "forbidden", message: "the agent's files are not on this machine"), to: request)
        }
        let question = FileRequest(
            session: file.session, blindIndex: file.blindIndex, sealedPath: file.sealedPath, path: file.path,
            vouchedPath: file.vouchedPath)
        viewer.read(question) { [weak self] answer in self?.reply(.members(answer.members), to: request) }
    }

    private func ask(
        _ query: AgentQuery, for request: RelayRequest,
        shown: @escaping @Sendable (AgentReply) -> AgentReply = { $0 }
    ) {
        guard let agent else {
            return reply(.failed(code: request.failure, message: "the connection is closed"), to: request)
        }
        agent.query(query) { [weak self] answer in
            self?.reply(RelayReply(shown(answer), failure: request.failure), to: request)
        }
    }

    func reply(_ reply: RelayReply, to request: RelayRequest) {
        relay?.tell { link, now in link.reply(reply, to: request, at: now) }
    }

    /// Keeps a chat's choice of model before the message that made it leaves.
    func keep(_ chosen: ChosenModel?, of session: SessionID) {
        journal.submit([ModelRecord.entry(of: session, chosen)], .synced) { [weak self] failure in
            guard let self, let failure else { return }
            journalFails(failure)
            runner?.tell { bridge, _ in bridge.modelWasNotKept(of: session) }
        }
    }
}

extension RelayReply {
    init(_ reply: AgentReply, failure: String) {
        switch reply {
        case .models(let models):
            var members = JSONObjectWriter()
            members.objects("models", Self.atMost(900_000, of: models.prefix(1_000).map(Self.model)))
            self = .members(members.finish())
        case .document(let document):
            var members = JSONObjectWriter()
            members.value("result", document)
            self = .members(members.finish())
        case .refused(let message), .refusedInItsWords(let message): self = .failed(code: failure, message: message)
        }
    }

    /// Cuts the list at `limit` bytes. No agent has so many models, and all other traffic shares the relay's socket.
    private static func atMost(_ limit: Int, of objects: [[UInt8]]) -> [[UInt8]] {
        var size = 0
        return Array(
            objects.prefix { object in
                size += object.count + 1
                return size <= limit
            })
    }

    private static func model(_ model: AgentModel) -> [UInt8] {
        var object = JSONObjectWriter()
        object.string("id", model.id)
        object.string("name", model.name)
        object.string("provider", model.provider)
        object.string("alias", model.alias)
        object.integer("contextWindow", model.contextWindow)
        object.value("reasoning", model.reasoning.map { JSONText(unchecked: $0 ? "true" : "false") })
        if !model.input.isEmpty {
            let inputs = model.input.map { JSONText.string($0).text }.joined(separator: ",")
            object.raw("input", Array("[\(inputs)]".utf8))
        }
        return object.finish()
    }
}
