import Glibc

// Parts of `make bench` that need the project's own code or Swift's JSONDecoder; scripts/bench runs them and compares.
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "decode" where arguments.count == 2: try Decoding.run(file: arguments[1])
case "lane" where arguments.count == 3: try LaneBench.calls(url: arguments[1], bodies: arguments[2])
case "latency" where arguments.count == 3: try LaneBench.latency(url: arguments[1], log: arguments[2])
default:
    print("usage: bridge-bench decode RECORDING | lane URL BODIES | latency URL LOG")
    exit(2)
}
