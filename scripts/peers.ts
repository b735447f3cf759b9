// `npm run peers`: installs the programs of others that the scenarios drive.
import { ensurePeers } from "./lib/peers.js";

console.log(`peers: ${await ensurePeers()}`);
