export { type Bundle, type Claim, FORMAT, MAX_BYTES, type Statement } from './format.js';
export {
  assembleProof,
  type CheckpointFiles,
  makeProof,
  NoTransaction,
  type ProofParts,
  type ProofRequest,
  signedPartOf,
  TooLarge,
} from './make.js';
export {
  KNOWN_VALIDATORS,
  PUBLIC_PASSPHRASE,
  TESTNET_PASSPHRASE,
  VALIDATORS_DATE,
  type Validator,
} from './validators.js';
export { type Verdict, type Verification, type VerifyOptions, verifyProof } from './verify.js';
