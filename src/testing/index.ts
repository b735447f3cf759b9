// The door of `tenon/testing`: scripted peers, a fake world and a leak check, for our tests and for embedders'.
export type { AgentMessage, MessageValidator } from "./acp-client/agent-message.js";
export { AcpClient, type AcpClientOptions, type NewSessionParams } from "./acp-client/client.js";
export type { AgentCommand, AgentExit, AgentStreams } from "./acp-client/link.js";
export type { PermissionAnswer, PermissionPolicy } from "./acp-client/permissions.js";
export { acpSchemaValidator, type SchemaValidatorOptions } from "./acp-client/schema.js";
export { connectAgent, connectStreams, startAgent } from "./acp-client/start.js";
export type { WireLine } from "./acp-client/wire.js";
export { logIn, visit } from "./auth-server/browser.js";
export { Canary, canary } from "./auth-server/canary.js";
export type {
  AuthAnswer,
  AuthEndpoint,
  AuthParams,
  AuthRecord,
  AuthServerOptions,
  ClientAuthMethod,
  LabClient,
  LabPlace,
  LabProvider,
} from "./auth-server/options.js";
export {
  type Admission,
  ProtectedServer,
  type ProtectedServerOptions,
  protectedServer,
  type Turned,
} from "./auth-server/protected-server.js";
export { AuthServer, authServer, type HeldEndpoint } from "./auth-server/server.js";
export type { Permit, TokenFacts, TokenState } from "./auth-server/tokens.js";
export { type Watched, watchEventLoop } from "./event-loop.js";
export type { Fault } from "./fake-provider/fault.js";
export type { FormatName, OfferedTool } from "./fake-provider/format.js";
export type { FakeModel } from "./fake-provider/model-list.js";
export {
  FakeProvider,
  type FakeProviderOptions,
  fakeProvider,
  type Refusal,
  type ReplyScript,
  type SchemaFaults,
} from "./fake-provider/provider.js";
export {
  type Answer,
  type AnswerPart,
  type AnswerUsage,
  answerText,
  answerToolCall,
  type ContentPart,
  type Finish,
  failWith,
  type Gate,
  gate,
  type Incident,
  type Piecewise,
  type ProviderReply,
  type ProviderRequest,
} from "./fake-provider/reply.js";
export type { WaitOptions } from "./feed.js";
export { LeakCheck, type LeakCheckOptions, type Leaks, leakCheck } from "./leaks/leaks.js";
export { type LivingProcess, type LivingSearch, listLiving } from "./leaks/living.js";
export { ownAddress } from "./loopback.js";
export {
  BAD_TOOLS,
  type Behaviour,
  type CrashStep,
  echoTool,
  type SpawnChildrenStep,
  STAGES,
  type Stage,
  type Step,
  type TaskScript,
  type ToolReply,
  type ToolScript,
} from "./mcp-server/behaviour.js";
export { parseBehaviour } from "./mcp-server/check-behaviour.js";
export type { CallProgress, HeldCall } from "./mcp-server/held-call.js";
export {
  type HttpGate,
  type HttpRequestRecord,
  type HttpServerOptions,
  ScriptedHttpServer,
  scriptedHttpServer,
} from "./mcp-server/http.js";
export type { FaultMatch, HttpFault } from "./mcp-server/http-faults.js";
export { MemoryServer, type MemoryServerOptions, memoryServer } from "./mcp-server/memory.js";
export {
  type AcpServerEntry,
  MARKER_VARIABLE,
  type ScriptedServerOptions,
  type ScriptedServerSpec,
  scriptedAcpServer,
  scriptedServer,
} from "./mcp-server/scripted-server.js";
export { MemoryGrants } from "./memory-grants.js";
export { FakeChild, type FakeChildOptions, type GroupMember } from "./world/child.js";
export { FakeClock, settle } from "./world/clock.js";
export { FakeFiles } from "./world/files.js";
export {
  FakeWorld,
  type FakeWorldOptions,
  fakeWorld,
  type LogEntry,
  type SpawnScript,
  spawnsChild,
  spawnsServer,
} from "./world/world.js";
