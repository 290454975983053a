/** Whom a verifier trusts unless it is told otherwise. Operators change keys: look at the date, and
 *  give your own list where it matters. */

/** An organisation that runs validators. */
export interface Validator {
  name: string;
  homeDomain: string;
  /** G… of each of its nodes. */
  nodes: string[];
}

export const PUBLIC_PASSPHRASE = 'Public Global Stellar Network ; September 2015';
export const TESTNET_PASSPHRASE = 'Test SDF Network ; September 2015';

/** When the lists below were compared with public configurations. */
export const VALIDATORS_DATE = '2026-11-27';

/** Networks that are known without being named, by their passphrase. */
export const KNOWN_VALIDATORS: Readonly<Record<string, readonly Validator[]>> = {
  [PUBLIC_PASSPHRASE]: [
    {
      name: 'Stellar Development Foundation',
      homeDomain: 'www.stellar.org',
      nodes: [
        'GCGB2S2KGYARPVIA37HYZXVRM2YZUEXA6S33ZU5BUDC6THSB62LZSTYH',
        'GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK',
        'GABMKJM6I25XI4K7U6XWMULOUQIQ27BCTMLS6BYYSOWKTBUXVRJSXHYQ',
      ],
    },
    {
      name: 'Public Node',
      homeDomain: 'publicnode.org',
      nodes: [
        'GCVJ4Z6TI6Z2SOGENSPXDQ2U4RKH3CNQKYUHNSSPYFPNWTLGS6EBH7I2',
        'GCIXVKNFPKWVMKJKVK2V4NK7D4TC6W3BUMXSIJ365QUAXWBRPPJXIR2Z',
        'GBLJNN3AVZZPG2FYAYTYQKECNWTQYYUUY2KVFN2OUKZKBULXIXBZ4FCT',
      ],
    },
    {
      name: 'LOBSTR',
      homeDomain: 'lobstr.co',
      nodes: [
        'GCFONE23AB7Y6C5YZOMKUKGETPIAJA4QOYLS5VNS4JHBGKRZCPYHDLW7',
        'GCB2VSADESRV2DDTIVTFLBDI562K6KE3KMKILBHUHUWFXCUBHGQDI7VL',
        'GD5QWEVV4GZZTQP46BRXV5CUMMMLP4JTGFD7FWYJJWRL54CELY6JGQ63',
        'GA7TEPCBDQKI7JQLQ34ZURRMK44DVYCIGVXQQWNSWAEQR6KB4FMCBT7J',
        'GA5STBMV6QDXFDGD62MEHLLHZTPDI77U3PFOD2SELU5RJDHQWBR5NNK7',
      ],
    },
    {
      name: 'SatoshiPay',
      homeDomain: 'satoshipay.io',
      nodes: [
        'GC5SXLNAM3C4NMGK2PXK4R34B5GNZ47FYQ24ZIBFDFOCU6D4KBN4POAE',
        'GBJQUIXUO4XSNPAUT6ODLZUJRV2NPXYASKUBY4G5MYP3M47PCVI55MNT',
        'GAK6Z5UVGUVSEK6PEOCAYJISTT5EJBB34PN3NOLEQG2SUKXRVV2F6HZY',
      ],
    },
    {
      name: 'Blockdaemon',
      homeDomain: 'stellar.blockdaemon.com',
      nodes: [
        'GAAV2GCVFLNN522ORUYFV33E76VPC22E72S75AQ6MBR5V45Z5DWVPWEU',
        'GAVXB7SBJRYHSG6KSQHY74N7JAFRL4PFVZCNWW2ARI6ZEKNBJSMSKW7C',
        'GAYXZ4PZ7P6QOX7EBHPIZXNWY4KCOBYWJCA4WKWRKC7XIUS3UJPT6EZ4',
      ],
    },
    {
      name: 'Franklin Templeton',
      homeDomain: 'www.franklintempleton.com',
      nodes: [
        'GARYGQ5F2IJEBCZJCBNPWNWVDOFK7IBOHLJKKSG2TMHDQKEEC6P4PE4V',
        'GCMSM2VFZGRPTZKPH5OABHGH4F3AVS6XTNJXDGCZ3MKCOSUBH3FL6DOB',
        'GA7DV63PBUUWNUFAF4GAZVXU2OZMYRATDLKTC7VTCG7AU4XUPN5VRX4A',
      ],
    },
    {
      name: 'Whalestack',
      homeDomain: 'www.whalestack.com',
      nodes: [
        'GD6SZQV3WEJUH352NTVLKEV2JM2RH266VPEM7EH5QLLI7ZZAALMLNUVN',
        'GADLA6BJK6VK33EM2IDQM37L5KGVCY5MSHSHVJA4SCNGNUIEOTCR6J5T',
        'GAZ437J46SCFPZEDLVGDMKZPLFO77XJ4QVAURSJVRZK2T5S7XUFHXI2Z',
      ],
    },
  ],
  // The test network has one organisation, so that its signatures say that it agrees with itself.
  [TESTNET_PASSPHRASE]: [
    {
      name: 'Stellar Development Foundation (test network)',
      homeDomain: 'testnet.stellar.org',
      nodes: [
        'GDKXE2OZMJIPOSLNA6N6F2BVCI3O777I2OOC4BV7VOYUEHYX7RTRYA7Y',
        'GCUCJTIYXSOXKBSNFGNFWW5MUQ54HKRPGJUTQFJ5RQXZXNOLNXYDHRAP',
        'GC2V2EFSXN6SQTWVYA5EPJPBWWIMSD2XQNKUOHGEKB535AQE2I6IXV2Z',
      ],
    },
  ],
};
