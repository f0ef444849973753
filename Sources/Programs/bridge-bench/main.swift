import Glibc
import Vocabulary

// Parts of `make bench` that need the project's own code or Swift's JSONDecoder; scripts/bench runs them and compares.
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "decode" where arguments.count == 2: try Decoding.run(file: arguments[1])
case "lane" where arguments.count == 3: try LaneBench.calls(url: arguments[1], bodies: arguments[2])
case "latency" where arguments.count == 3: try LaneBench.latency(url: arguments[1], log: arguments[2])
case "journal" where arguments.count == 4:
    try JournalBench.commits(
        arguments[1] == "synced" ? .synced : .written, directory: arguments[2], count: Int(arguments[3]) ?? 1)
case "seal" where arguments.count == 2: try SealingBench.deltas(count: Int(arguments[1]) ?? 1)
case "journal-tell" where arguments.count == 2: try JournalBench.tell(directory: arguments[1])
default:
    print(
        "usage: bridge-bench decode RECORDING | lane URL BODIES | latency URL LOG"
            + " | journal written|synced DIRECTORY COUNT | journal-tell DIRECTORY | seal COUNT")
    exit(ExitCode.usage.rawValue)
}
