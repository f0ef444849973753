import CEmbedded

/// The build's commit and the versions of the linked libraries.
enum BuildFacts {
    /// Abbreviated hash of the commit, empty if the build did not record one.
    static var commit: String { String(cString: build_commit()) }

    static var libraries: String {
        String(unsafeUninitializedCapacity: 512) { room in
            room.withMemoryRebound(to: CChar.self) { min(build_libraries($0.baseAddress, $0.count), $0.count - 1) }
        }
    }
}
