//! Valid and rejected net files.

use super::*;

const SHAPE: Shape = Shape {
    layout: Layout::Plain,
    hidden: 32,
    buckets: 4,
    bucket_by: BucketBy::Pieces,
    scale: SCALE,
};

fn parts(shape: Shape) -> Parts {
    Network::noise(shape, 7).unwrap().parts()
}

#[track_caller]
fn refused(bytes: &[u8], words: &str) {
    let said = Network::from_bytes(bytes).unwrap_err().to_string();
    assert!(said.contains(words), "{said:?} lacks {words:?}");
}

#[test]
fn a_net_survives_its_file() {
    for layout in Layout::ALL {
        let shape = Shape { layout, ..SHAPE };
        let net = Network::noise(shape, 3).unwrap();
        let bytes = net.to_bytes();
        assert_eq!(bytes.len(), 64 + shape.body());
        let read = Network::from_bytes(&bytes).unwrap();
        assert_eq!((read.shape(), read.parts()), (shape, net.parts()));
        assert_eq!((read.id(), read.to_bytes()), (net.id(), bytes));
    }
}

#[test]
fn the_header_is_where_the_format_says() {
    let net = Network::noise(SHAPE, 3).unwrap();
    let bytes = net.to_bytes();
    assert_eq!(&bytes[..8], b"MEGANET1");
    let fields = [
        &bytes[8..12],
        &bytes[12..16],
        &bytes[16..20],
        &bytes[24..28],
    ];
    let fields = fields.map(|field| u32::from_le_bytes(field.try_into().unwrap()));
    assert_eq!(fields, [0, 32, 4, 400]);
    assert_eq!(&bytes[20..24], [255, 0, 64, 0]);
    assert_eq!(bytes[28..36], net.hash().to_le_bytes());
    assert!(bytes[36..64].iter().all(|&byte| byte == 0));
    let first = i16::from_le_bytes([bytes[64], bytes[65]]);
    assert_eq!(first, net.parts().feature_weights[0]);
}

#[test]
fn an_invalid_or_damaged_net_is_rejected_with_the_reason() {
    let good = Network::noise(SHAPE, 3).unwrap().to_bytes();
    refused(b"", "does not begin with MEGANET");
    refused(b"MEGAN", "does not begin with MEGANET");
    refused(b"PNG and other things", "does not begin with MEGANET");
    refused(&good[..40], "64 bytes, not 40");
    refused(&good[..good.len() - 1], "cut off");
    refused(&[&good[..], &[0]].concat(), "added to");
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    refused(&changed(7, b'2'), "version '2'");
    refused(&changed(8, 77), "layout 77");
    refused(&changed(12, 33), "33 hidden units");
    refused(&changed(13, 0xff), "hidden units");
    refused(&changed(16, 0), "0 output buckets");
    refused(&changed(20, 1), "units QA 1");
    refused(&changed(26, 0xff), "scale of");
    refused(&changed(30, good[30] ^ 1), "damaged");
    refused(&changed(1000, good[1000] ^ 1), "damaged");
    refused(
        &changed(good.len() - 1, good[good.len() - 1] ^ 1),
        "damaged",
    );
}

#[test]
fn parts_must_fit_the_shape() {
    let mut short = parts(SHAPE);
    short.output_biases.pop();
    let error = Network::from_parts(SHAPE, &short).unwrap_err();
    assert_eq!(error.to_string(), "3 output biases; this shape takes 4");
    let huge = Shape {
        hidden: 544,
        ..SHAPE
    };
    assert!(matches!(
        Network::from_parts(huge, &parts(SHAPE)),
        Err(NetError::Hidden(544))
    ));
}

#[test]
fn numbers_that_could_overflow_are_refused() {
    let mut heavy = parts(SHAPE);
    heavy.output_weights[5] = -129;
    let error = Network::from_parts(SHAPE, &heavy).unwrap_err();
    assert!(matches!(error, NetError::OutputWeight(-129)), "{error}");

    for sign in [1, -1] {
        let mut steep = Parts {
            feature_weights: vec![0; SHAPE.feature_weights()],
            ..parts(SHAPE)
        };
        steep.feature_biases[9] = sign * 767;
        for input in 0..32 {
            steep.feature_weights[input * 23 * SHAPE.hidden + 9] = sign * 1000;
        }
        assert!(Network::from_parts(SHAPE, &steep).is_ok());
        steep.feature_biases[9] = sign * 769;
        let error = Network::from_parts(SHAPE, &steep).unwrap_err();
        assert!(
            matches!(error, NetError::Accumulator { unit: 9, reach } if reach.abs() == 32_769),
            "{error}"
        );
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = Network::load(Path::new("no/such.net")).unwrap_err();
    assert!(error.to_string().contains("no/such.net"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.net");
    fs::write(&path, b"MEGANET9").unwrap();
    let error = Network::load(&path).unwrap_err().to_string();
    assert!(
        error.contains("bad.net") && error.contains("version '9'"),
        "{error}"
    );
}
