import BridgeService
import Vocabulary

/// The agent's files in a world, by their paths without links.
package final class VirtualAgentFiles: @unchecked Sendable {
    package var files: [String: [UInt8]] = [:]
    /// Targets of links, by the links' own paths.
    package var links: [String: String] = [:]
    /// Looks and reads, in order.
    package private(set) var asked: [String] = []
    /// Time that the disk takes.
    package var pace = Duration.milliseconds(3)
    private let time: VirtualTime

    init(_ time: VirtualTime) { self.time = time }

    func port(_ isAlive: @escaping () -> Bool) -> any AgentFilePort { Port(self, isAlive) }

    private final class Port: AgentFilePort, @unchecked Sendable {
        private let world: VirtualAgentFiles
        private let isAlive: () -> Bool

        init(_ world: VirtualAgentFiles, _ isAlive: @escaping () -> Bool) {
            self.world = world
            self.isAlive = isAlive
        }

        func look(at path: String, completion: @escaping @Sendable (Result<SeenFile, FileRefusal>) -> Void) {
            later("look \(path)") { world in
                let path = world.links[path] ?? path
                guard let bytes = world.files[path] else { return completion(.failure(.notFound)) }
                completion(.success(SeenFile(path: path, size: bytes.count, mimeType: "text/plain")))
            }
        }

        func read(
            _ paths: [String], atMost limit: Int,
            completion: @escaping @Sendable (Result<ShownFile, FileRefusal>) -> Void
        ) {
            later("read \(paths.joined(separator: " "))") { world in
                guard Set(paths).count == 1, let path = paths.first, world.links[path] == nil else {
                    return completion(.failure(.forbidden))
                }
                guard let bytes = world.files[path] else { return completion(.failure(.notFound)) }
                guard bytes.count <= limit else { return completion(.failure(.tooLarge(size: bytes.count))) }
                completion(.success(ShownFile(mimeType: "text/plain", bytes: bytes)))
            }
        }

        private func later(_ line: String, _ body: @escaping (VirtualAgentFiles) -> Void) {
            guard isAlive() else { return }
            world.asked.append(line)
            world.time.after(world.pace) { [self] in if isAlive() { body(world) } }
        }
    }
}

extension WorldSide {
    func fileParts(_ isAlive: @escaping () -> Bool) -> FileParts {
        FileParts(
            fetcher: attachments.port(isAlive),
            viewer: FileViewer.Parts(
                files: agentFiles.port(isAlive), alarm: VirtualAlarm(time, isAlive: isAlive)))
    }
}
