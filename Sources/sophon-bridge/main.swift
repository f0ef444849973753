print("sophon-bridge")
