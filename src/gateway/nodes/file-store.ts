// What a gateway of one machine keeps: in files of its state folder. Its pairing codes end with it.
import { join } from "node:path";
import { TenonError } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import { FileSessionStore } from "../../session/index.js";
import { codesInMemory, PairingCodes } from "../access/pairing.js";
import { OWN_ACCOUNT } from "../access/principal.js";
import { tokensInFile } from "../access/tokens.js";
import type { AccountStore, GatewayStore } from "./nodes.js";

export function fileGatewayStore(world: World, stateDir: string): GatewayStore {
  const accounts = new Map<string, AccountStore>();
  const secret = join(stateDir, "gateway", "client-secret");
  return {
    account: (name) => {
      const known = accounts.get(name) ?? { sessions: new FileSessionStore(world, accountFolder(stateDir, name)) };
      accounts.set(name, known);
      return known;
    },
    clientSecret: () => readSecret(world, secret),
    tokens: tokensInFile(world, stateDir),
    codes: new PairingCodes(world, codesInMemory(world)),
    problem: () => (world.files.isFile(secret) ? undefined : "the state folder cannot be read"),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** What is of a node stays there: server output, the memory of tools. */
export function accountFolder(stateDir: string, account: string): string {
  return account === OWN_ACCOUNT ? stateDir : join(stateDir, "accounts", account);
}

async function readSecret(world: World, path: string): Promise<string> {
  const fresh = newClientSecret(world);
  const isNew = await world.files.createNew(path, fresh);
  const secret = isNew ? fresh : (await world.files.readText(path)).trim();
  if (secret.length >= 32) return secret;
  throw new TenonError("config.invalid", `${path} does not hold the secret of this gateway`, {
    hint: "Remove the file; clients then get new ids.",
  });
}

function newClientSecret(world: Pick<World, "randomBytes">): string {
  return Buffer.from(world.randomBytes(32)).toString("base64url");
}
