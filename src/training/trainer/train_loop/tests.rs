//! Small complete trainings: do they learn the labels for the right side, and does the quantised net agree
//! with the float net?

use std::fs;

use super::super::synthetic::{by_material, dataset, material_stock, positions, sample};
use super::*;
use crate::engine::nnue::Layout;
use crate::rules::{Color, Position};

fn hyperparameters() -> Hyperparameters {
    Hyperparameters {
        hidden: 32,
        buckets: 2,
        epochs: 4,
        batch: 256,
        rate: 5e-3,
        ..Hyperparameters::default()
    }
}

/// Trains without files.
fn trained(hyperparameters: &Hyperparameters, dataset: &Dataset, threads: usize) -> Trainer {
    let mut trainer = Trainer::new(hyperparameters, threads).unwrap();
    for _ in 0..hyperparameters.epochs {
        let summary = trainer.epoch(dataset, &mut |_| {}).unwrap();
        trainer.curve.push(summary);
    }
    trainer
}

/// The float net's evaluation in centipawns for the side to move.
fn judged(trainer: &mut Trainer, position: &Position) -> f32 {
    let example = Example::of(
        &sample(position, 0, 1, false),
        trainer.shape,
        trainer.target,
    );
    400.0 * trainer.workers[0].forward(&trainer.model, &example)
}

/// The position with colours swapped and the board flipped.
fn delta(position: &Position) -> Position {
    let fen = position.fen();
    let (board, rest) = fen.split_once(' ').unwrap();
    let rows: Vec<String> = board
        .rsplit('/')
        .map(|row| row.chars().map(swapped_case).collect())
        .collect();
    let side = if rest.starts_with('w') { 'b' } else { 'w' };
    Position::from_fen(&format!("{} {side} - - 0 1", rows.join("/"))).unwrap()
}

fn swapped_case(letter: char) -> char {
    if letter.is_ascii_uppercase() {
        letter.to_ascii_lowercase()
    } else {
        letter.to_ascii_uppercase()
    }
}

/// The mirrored position.
fn mirrored(position: &Position) -> Position {
    let fen = position.fen();
    let mut fields = fen.split(' ');
    let rows: Vec<String> = fields
        .next()
        .unwrap()
        .split('/')
        .map(|row| row.chars().rev().collect())
        .collect();
    let side = fields.next().unwrap();
    Position::from_fen(&format!("{} {side} - - 0 1", rows.join("/"))).unwrap()
}

#[test]
fn a_few_samples_are_overfitted() {
    let mut chance = fastrand::Rng::with_seed(2);
    let samples = positions(11, 48)
        .iter()
        .map(|position| sample(position, chance.i16(-800..800), chance.u8(0..3), false))
        .collect();
    let hyperparameters = Hyperparameters {
        epochs: 400,
        rate: 1e-2,
        ..hyperparameters()
    };
    let trainer = trained(&hyperparameters, &dataset(samples), 2);
    let (first, last) = (&trainer.curve[0], trainer.curve.last().unwrap());
    assert!(first.train_loss > 0.02, "{first:?}");
    assert!(last.train_loss < 1e-5, "{last:?}");
}

#[test]
fn a_position_and_its_mirror_image_get_the_same_value() {
    for layout in Layout::ALL {
        let hyperparameters = Hyperparameters {
            layout: layout.number(),
            epochs: 1,
            ..hyperparameters()
        };
        let dataset = material_stock(3, 2000);
        let mut trainer = trained(&hyperparameters, &dataset, 1);
        let network = trainer.network(&dataset).unwrap();
        for position in positions(12, 300) {
            let value = judged(&mut trainer, &position);
            for image in [delta(&position), mirrored(&position)] {
                // The order of summation may differ.
                assert!((judged(&mut trainer, &image) - value).abs() < 0.01);
                assert_eq!(network.evaluate(&image), network.evaluate(&position));
            }
        }
    }
}

#[test]
fn more_pieces_mean_a_better_value_for_either_side() {
    let hyperparameters = Hyperparameters {
        epochs: 10,
        ..hyperparameters()
    };
    let dataset = material_stock(5, 12_000);
    let trainer = trained(&hyperparameters, &dataset, 2);
    let validation = trainer.curve.last().unwrap().validation_loss.unwrap();
    assert!(validation < 0.02, "{validation}");
    let network = trainer.network(&dataset).unwrap();
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
    let rows = [
        ("d8", start.replace('q', "1"), 1),
        ("d1", start.replace('Q', "1"), -1),
        ("both rooks of Black", start.replace('r', "1"), 1),
        ("both rooks of White", start.replace('R', "1"), -1),
    ];
    for (missing, board, white) in rows {
        for (side, sign) in [(Color::White, white), (Color::Black, -white)] {
            let letter = if side == Color::White { 'w' } else { 'b' };
            let position = Position::from_fen(&format!("{board} {letter} - - 0 1")).unwrap();
            let value = network.evaluate(&position).unwrap() * sign;
            assert!(value > 150, "without {missing}, {side:?} to move: {value}");
        }
    }
}

#[test]
fn a_won_sample_raises_the_value_and_a_lost_one_lowers_it() {
    let white = Position::from_fen("4k3/8/8/3n4/8/2B5/8/4K3 w - - 0 1").unwrap();
    let black = Position::from_fen("4k3/8/8/3n4/8/2B5/8/4K3 b - - 0 1").unwrap();
    // Labels from White's side, and the expected sign for the side to move.
    let rows = [
        (&white, 0, 2, 1.0, 1.0),
        (&white, 0, 0, 1.0, -1.0),
        (&black, 0, 2, 1.0, -1.0),
        (&black, 0, 0, 1.0, 1.0),
        (&white, 500, 1, 0.0, 1.0),
        (&white, -500, 1, 0.0, -1.0),
        (&black, 500, 1, 0.0, -1.0),
        (&black, -500, 1, 0.0, 1.0),
    ];
    for (position, score, result, lambda, way) in rows {
        let hyperparameters = Hyperparameters {
            lambda,
            epochs: 20,
            rate: 1e-3,
            ..hyperparameters()
        };
        let dataset = dataset(vec![sample(position, score, result, false)]);
        let mut trainer = Trainer::new(&hyperparameters, 1).unwrap();
        let before = judged(&mut trainer, position);
        for _ in 0..hyperparameters.epochs {
            trainer.epoch(&dataset, &mut |_| {}).unwrap();
        }
        let moved = judged(&mut trainer, position) - before;
        assert!(moved * way > 5.0, "{score} {result} {lambda}: {moved}");
    }
}

#[test]
fn the_exported_net_agrees_with_the_floats() {
    let dataset = material_stock(8, 12_000);
    for layout in Layout::ALL {
        let hyperparameters = Hyperparameters {
            layout: layout.number(),
            rate: 1e-3,
            ..hyperparameters()
        };
        let mut trainer = trained(&hyperparameters, &dataset, 2);
        let network = trainer.network(&dataset).unwrap();
        let positions = positions(21, 1000);
        let error = |position: &Position| {
            let whole = network.evaluate(position).unwrap() as f32;
            (judged(&mut trainer, position) - whole).abs()
        };
        let mean = positions.iter().map(error).sum::<f32>() / 1000.0;
        assert!(mean < 5.0, "{layout:?}: {mean} cp");
    }
}

#[test]
fn a_resumed_training_gives_the_net_of_an_uninterrupted_one() {
    for layout in Layout::ALL {
        resumes(&Hyperparameters {
            layout: layout.number(),
            ..hyperparameters()
        });
    }
}

fn resumes(hyperparameters: &Hyperparameters) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, cut) = (
        folder.path().join("whole.net"),
        folder.path().join("cut.net"),
    );
    let dataset = material_stock(6, 3000);
    let mut trainer = Trainer::new(hyperparameters, 2).unwrap();
    let fidelity = trainer.run(&dataset, &whole, |_| {}).unwrap();
    assert!(
        fidelity.mean_error < 5.0 && fidelity.positions == 150,
        "{fidelity:?}"
    );

    let mut first = Trainer::new(hyperparameters, 2).unwrap();
    let summary = first.epoch(&dataset, &mut |_| {}).unwrap();
    first.curve.push(summary);
    first.keep(&dataset, &cut).unwrap();
    assert_ne!(fs::read(&whole).unwrap(), fs::read(&cut).unwrap());
    let mut second = Trainer::resume(hyperparameters, &dataset, 2, &cut).unwrap();
    let mut epochs = Vec::new();
    let event = |event: TrainEvent<'_>| match event {
        TrainEvent::Resumed(curve) | TrainEvent::Epoch(curve) => epochs.push(curve.len()),
        TrainEvent::Step { .. } => {}
    };
    second.run(&dataset, &cut, event).unwrap();
    assert_eq!(epochs, [1, 2, 3, 4]);
    assert_eq!(fs::read(&whole).unwrap(), fs::read(&cut).unwrap());
    assert!(second.model == trainer.model && second.adam == trainer.adam);

    let curve = fs::read_to_string(curve_path(&cut)).unwrap();
    assert_eq!(curve.lines().count(), 5, "{curve}");
    let other = Hyperparameters {
        hidden: 64,
        ..hyperparameters.clone()
    };
    let refusal = Trainer::resume(&other, &dataset, 2, &cut)
        .unwrap_err()
        .to_string();
    assert!(refusal.contains("hidden 32, not 64"), "{refusal}");
}

#[test]
fn a_resumed_training_writes_the_net_that_failed_after_the_last_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let net = folder.path().join("some.net");
    let hyperparameters = Hyperparameters {
        epochs: 1,
        ..hyperparameters()
    };
    let dataset = material_stock(6, 500);
    // A folder cannot be replaced by a file.
    fs::create_dir_all(net.join("inside")).unwrap();
    let mut first = Trainer::new(&hyperparameters, 2).unwrap();
    let error = first.run(&dataset, &net, |_| {}).unwrap_err();
    assert!(matches!(error, TrainError::File { .. }), "{error}");
    fs::remove_dir_all(&net).unwrap();
    let curve = fs::read(curve_path(&net)).unwrap();
    fs::remove_file(curve_path(&net)).unwrap();

    let mut second = Trainer::resume(&hyperparameters, &dataset, 2, &net).unwrap();
    second.run(&dataset, &net, |_| {}).unwrap();
    let whole = first.network(&dataset).unwrap().to_bytes();
    assert!(fs::read(&net).unwrap() == whole);
    assert_eq!(fs::read(curve_path(&net)).unwrap(), curve);
}

#[test]
fn a_checkpoint_of_other_samples_under_the_same_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let net = folder.path().join("some.net");
    let hyperparameters = Hyperparameters {
        epochs: 1,
        ..hyperparameters()
    };
    let (dataset, other) = (material_stock(6, 500), material_stock(7, 500));
    let mut first = Trainer::new(&hyperparameters, 2).unwrap();
    first.run(&dataset, &net, |_| {}).unwrap();
    Trainer::resume(&hyperparameters, &dataset, 2, &net).unwrap();
    let refusal = Trainer::resume(&hyperparameters, &other, 2, &net).unwrap_err();
    let refusal = refusal.to_string();
    assert!(refusal.contains("other data: synthetic"), "{refusal}");
}

#[test]
fn a_warm_start_continues_the_weights_with_a_schedule_and_data_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let earlier = hyperparameters();
    let mut first = Trainer::new(&earlier, 2).unwrap();
    first
        .run(&material_stock(6, 3000), &at("first.net"), |_| {})
        .unwrap();
    let checkpoint = checkpoint_path(&at("first.net"));

    let later = Hyperparameters {
        rate: earlier.rate / 4.0,
        epochs: 2,
        seed: earlier.seed + 1,
        ..earlier.clone()
    };
    let dataset = material_stock(9, 2000);
    let cold = Trainer::new(&later, 2)
        .unwrap()
        .epoch(&dataset, &mut |_| {});
    let mut second = Trainer::warm_start(&later, 2, &checkpoint).unwrap();
    assert!(second.model == first.model && second.adam == first.adam);
    second.run(&dataset, &at("second.net"), |_| {}).unwrap();
    let (warm, last) = (&second.curve[0], &second.curve[1]);
    assert!(warm.train_loss < cold.unwrap().train_loss);
    assert!(
        (last.rate - later.last_rate).abs() < later.rate / 10.0,
        "{last:?}"
    );

    let mut cut = Trainer::warm_start(&later, 2, &checkpoint).unwrap();
    let summary = cut.epoch(&dataset, &mut |_| {}).unwrap();
    cut.curve.push(summary);
    cut.keep(&dataset, &at("cut.net")).unwrap();
    let mut resumed = Trainer::resume(&later, &dataset, 2, &at("cut.net")).unwrap();
    resumed.run(&dataset, &at("cut.net"), |_| {}).unwrap();
    assert!(
        resumed.model == second.model,
        "a resumed warm start is the same"
    );

    let other = Hyperparameters {
        buckets: 3,
        ..later
    };
    let refusal = Trainer::warm_start(&other, 2, &checkpoint)
        .unwrap_err()
        .to_string();
    assert!(
        refusal.contains("another shape: buckets 2, not 3"),
        "{refusal}"
    );
}

#[test]
fn a_wider_net_starts_with_the_values_of_a_narrower_or_coarser_one_and_learns() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = material_stock(6, 3000);
    let pairs = Layout::ALL.map(|after| Layout::ALL.map(|before| (before, after)));
    let pairs = pairs.into_iter().flatten();
    for (before, after) in pairs.filter(|(before, after)| before == after || after.splits(*before))
    {
        let narrow = Hyperparameters {
            layout: before.number(),
            epochs: 2,
            ..hyperparameters()
        };
        let wide = Hyperparameters {
            hidden: 96,
            layout: after.number(),
            ..narrow.clone()
        };
        let net = folder.path().join("some.net");
        let checkpoint = checkpoint_path(&net);
        let mut first = Trainer::new(&narrow, 2).unwrap();
        first.run(&dataset, &net, |_| {}).unwrap();
        let mut second = Trainer::warm_start(&wide, 2, &checkpoint).unwrap();
        let networks = [&first, &second].map(|trainer| trainer.network(&dataset).unwrap());
        for position in positions(12, 300) {
            let [before, after] = [&mut first, &mut second].map(|net| judged(net, &position));
            assert!((before - after).abs() < 1e-3, "{before} {after}");
            let [before, after] = networks.each_ref().map(|net| net.evaluate(&position));
            assert_eq!(before, after);
        }

        let begun = second.model.clone();
        let summary = second.epoch(&dataset, &mut |_| {}).unwrap();
        assert!(summary.train_loss < 1.1 * first.curve.last().unwrap().train_loss);
        for unit in [1, 2] {
            assert_ne!(
                second.model.feature_biases[unit],
                begun.feature_biases[unit]
            );
            assert_ne!(
                second.model.output_weights[unit],
                begun.output_weights[unit]
            );
        }

        second.curve.push(summary);
        second.keep(&dataset, &net).unwrap();
        let refusal = Trainer::warm_start(&narrow, 2, &checkpoint).unwrap_err();
        let refusal = refusal.to_string();
        assert!(
            refusal.contains("a net of 96 hidden units, more than --hidden 32"),
            "{refusal}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_net_and_another_seed_another() {
    let dataset = material_stock(7, 1500);
    let net = |seed| {
        let hyperparameters = Hyperparameters {
            seed,
            epochs: 1,
            ..hyperparameters()
        };
        trained(&hyperparameters, &dataset, 2)
            .network(&dataset)
            .unwrap()
    };
    assert_eq!(net(1), net(1));
    assert_ne!(net(1), net(2));
}

#[test]
fn diverging_numbers_end_the_training() {
    let mut trainer = Trainer::new(&hyperparameters(), 1).unwrap();
    trainer.model.output_biases[0].0 = [f32::NAN; 32];
    let error = trainer
        .epoch(&material_stock(1, 100), &mut |_| {})
        .unwrap_err();
    assert!(matches!(error, TrainError::Diverged(1)), "{error}");
}

#[test]
fn a_batch_is_about_as_large_as_asked_for() {
    for (samples, wanted, size) in [(10, 100, 10), (1000, 100, 100), (160, 100, 80), (1, 5, 1)] {
        assert_eq!(batch_size(samples, wanted), size);
    }
    let dataset = dataset(
        positions(2, 30)
            .iter()
            .map(|position| by_material(1, position))
            .collect(),
    );
    assert_eq!(dataset.epoch_size(), 30);
}
